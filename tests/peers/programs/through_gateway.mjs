// Uses a gateway over HTTP with a client of the official TypeScript SDK, 1.x or 2.x, that answers what it is asked.
// Arguments: the SDK's generation, the era, and the URL of the gateway. Prints what it saw as JSON.

const [generation, era, url] = process.argv.slice(2);
const isSecond = generation === '2';
const { Client } = await import(isSecond ? '@modelcontextprotocol/client' : '@modelcontextprotocol/sdk/client/index.js');
const { StreamableHTTPClientTransport } = await import(
  isSecond ? '@modelcontextprotocol/client' : '@modelcontextprotocol/sdk/client/streamableHttp.js'
);

const mode = era === 'stateless' ? 'auto' : 'legacy';
const options = { capabilities: { elicitation: { form: {} } }, versionNegotiation: { mode } };
const client = new Client({ name: 'through-gateway', version: '1' }, options);
const asked = [];
const answer = async request => {
  asked.push(request.params.message);
  const content = Object.fromEntries((request.params.requestedSchema.required ?? []).map(name => [name, 'Ada']));
  return { action: 'accept', content };
};
if (isSecond) {
  client.setRequestHandler('elicitation/create', answer);
} else {
  const { ElicitRequestSchema } = await import('@modelcontextprotocol/sdk/types.js');
  client.setRequestHandler(ElicitRequestSchema, answer);
}

await client.connect(new StreamableHTTPClientTransport(new URL(url)));
const text = async (name, given) => (await client.callTool({ name, arguments: given })).content[0].text;
const names = async () => (await client.listTools()).tools.map(tool => tool.name);
// A list lacks the tools of servers that take longer to start.
let tools = await names();
while (!['echo', 'greet', 'order'].every(name => tools.includes(name))) {
  await new Promise(done => setTimeout(done, 100));
  tools = await names();
}
const seen = {
  tools,
  sum: await text('get-sum', { a: 1, b: 2 }),
  greet: await text('greet', { name: 'Ada' }),
  every: await text('trigger-elicitation-request', {}),
  sdk: await text('favourite', { question: 'Which colour?' }),
  agent: await text('order', {}),
  prompts: (await client.listPrompts()).prompts.map(prompt => prompt.name),
  asked
};
await client.close();
console.log(JSON.stringify(seen));
