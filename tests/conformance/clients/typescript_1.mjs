// A client written with the official TypeScript SDK, 1.x, which knows the handshake era alone.

import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import {
  CallToolResultSchema,
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
  LoggingMessageNotificationSchema,
  PromptListChangedNotificationSchema,
  ResourceUpdatedNotificationSchema,
  ToolListChangedNotificationSchema
} from '@modelcontextprotocol/sdk/types.js';
import { main, Player } from './player.mjs';

class TypeScript1 extends Player {
  server() {
    return {
      version: this.version,
      serverInfo: this.client.getServerVersion(),
      capabilities: this.client.getServerCapabilities()
    };
  }

  send(params, options) {
    return this.client.callTool(params, CallToolResultSchema, { ...options, onprogress: this.progress() });
  }
}

async function connect(script, stage) {
  const client = new Client(
    { name: 'typescript-1', version: '1' },
    { capabilities: script.capable ? { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} } : {} }
  );
  if (script.capable) {
    for (const schema of [ElicitRequestSchema, CreateMessageRequestSchema, ListRootsRequestSchema]) {
      client.setRequestHandler(schema, async request => stage.answer(request));
    }
  }
  const schemas = [
    LoggingMessageNotificationSchema,
    PromptListChangedNotificationSchema,
    ResourceUpdatedNotificationSchema,
    ToolListChangedNotificationSchema
  ];
  for (const schema of schemas) client.setNotificationHandler(schema, async notification => stage.hear(notification));
  const [command, ...args] = script.command ?? [];
  const transport = script.url
    ? new StreamableHTTPClientTransport(new URL(script.url))
    : new StdioClientTransport({ command, args, env: script.env });
  const setProtocolVersion = transport.setProtocolVersion?.bind(transport);
  let version;
  transport.setProtocolVersion = negotiated => {
    version = negotiated;
    setProtocolVersion?.(negotiated);
  };
  await client.connect(transport);
  return Object.assign(new TypeScript1(client, stage, script.era), { version });
}

await main(connect);
