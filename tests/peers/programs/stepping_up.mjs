// Calls tools with a client of the official TypeScript SDK, 1.x or 2.x, that gets the scopes which it is asked for.
// Arguments: the SDK's generation, the URL of the server, the era, and the tools to call. Prints their texts as JSON.

const [generation, url, era, ...tools] = process.argv.slice(2);
const sdk = generation === '2' ? await import('@modelcontextprotocol/client') : await first();
const kept = {};
let asked = null;

const provider = {
  redirectUrl: 'http://127.0.0.1:9/callback',
  clientMetadata: { client_name: 'stepping-up', redirect_uris: ['http://127.0.0.1:9/callback'] },
  state: () => 'as-it-was',
  clientInformation: () => kept.client,
  saveClientInformation: client => { kept.client = client; },
  tokens: () => kept.tokens,
  saveTokens: tokens => { kept.tokens = tokens; },
  redirectToAuthorization: at => { asked = at; },
  saveCodeVerifier: verifier => { kept.verifier = verifier; },
  codeVerifier: () => kept.verifier
};

async function first() {
  const { Client } = await import('@modelcontextprotocol/sdk/client/index.js');
  const { StreamableHTTPClientTransport } = await import('@modelcontextprotocol/sdk/client/streamableHttp.js');
  return { Client, StreamableHTTPClientTransport };
}

const open = () => new sdk.StreamableHTTPClientTransport(new URL(url), { authProvider: provider });

// Does it again once the person has allowed what it needs.
async function allowed(transport, action) {
  try {
    return await action();
  } catch (error) {
    if (asked === null) throw error;
    const back = new URL((await fetch(asked, { redirect: 'manual' })).headers.get('location'));
    asked = null;
    await transport.finishAuth(...(generation === '2' ? [back.searchParams] : [back.searchParams.get('code')]));
    return null;
  }
}

async function connected() {
  for (let attempt = 0; attempt < 2; attempt++) {
    const mode = era === 'stateless' ? 'auto' : 'legacy';
    const client = new sdk.Client({ name: 'stepping-up', version: '1' }, { versionNegotiation: { mode } });
    const transport = open();
    if ((await allowed(transport, () => client.connect(transport).then(() => true))) !== null) return [client, transport];
  }
  throw new Error('not connected');
}

const [client, transport] = await connected();
const texts = [];
for (const name of tools) {
  const call = () => client.callTool({ name, arguments: {} });
  const result = (await allowed(transport, call)) ?? (await call());
  texts.push(result.content[0].text);
}
await client.close();
console.log(JSON.stringify(texts));
