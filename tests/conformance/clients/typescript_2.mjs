// A client written with the official TypeScript SDK, 2.x.

import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { CHANGES, main, Player } from './player.mjs';

class TypeScript2 extends Player {
  server() {
    return {
      version: this.client.getNegotiatedProtocolVersion(),
      serverInfo: this.client.getServerVersion(),
      capabilities: this.client.getServerCapabilities()
    };
  }

  send(params, options) {
    return this.client.callTool(params, { ...options, onprogress: this.progress() });
  }

  async watch({ uri }) {
    if (this.era === 'handshake') return super.watch({ uri });
    const lists = { toolsListChanged: true, promptsListChanged: true };
    this.subscription = await this.client.listen({ ...lists, resourceSubscriptions: [uri] });
    return this.subscription.honoredFilter;
  }

  async unwatch({ uri }) {
    if (this.era === 'handshake') return super.unwatch({ uri });
    await this.subscription.close();
    return {};
  }

  sendRound(params) {
    return this.client.request({ method: 'tools/call', params }, { allowInputRequired: true });
  }
}

async function connect(script, stage) {
  const client = new Client(
    { name: 'typescript-2', version: '2' },
    {
      versionNegotiation: { mode: script.era === 'stateless' ? 'auto' : 'legacy' },
      capabilities: script.capable ? { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} } : {}
    }
  );
  if (script.capable) {
    for (const method of ['elicitation/create', 'sampling/createMessage', 'roots/list']) {
      client.setRequestHandler(method, async request => stage.answer(request));
    }
  }
  for (const method of ['notifications/message', ...CHANGES]) {
    client.setNotificationHandler(method, async notification => stage.hear(notification));
  }
  const [command, ...args] = script.command ?? [];
  const transport = script.url
    ? new StreamableHTTPClientTransport(new URL(script.url))
    : new StdioClientTransport({ command, args, env: script.env });
  await client.connect(transport);
  return new TypeScript2(client, stage, script.era);
}

await main(connect);
