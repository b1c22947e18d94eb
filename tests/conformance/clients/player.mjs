// Plays scripts as `player.py` does, with a client that the program which imports this connects.

import { readFileSync } from 'node:fs';

// Notifications that follow a response are on their way already.
const HEARING_MS = 5000;
const ROOTS = { roots: [{ uri: 'file:///work', name: 'work' }] };
const MESSAGE = { role: 'assistant', content: { type: 'text', text: 'Paris' }, model: 'm', stopReason: 'endTurn' };

// What the client is asked and hears in the current step.
export class Stage {
  begin(step) {
    this.answers = [...(step.answers ?? [])];
    this.asked = [];
    this.heard = [];
  }

  answer({ method, params }) {
    this.asked.push({ method, params: params ?? {} });
    if (method === 'roots/list') return ROOTS;
    if (method === 'sampling/createMessage') return MESSAGE;
    return this.answers.shift() ?? { action: 'cancel' };
  }

  hear({ method, params }) {
    this.heard.push({ method, params: params ?? {} });
  }

  async wait(count) {
    for (const end = Date.now() + HEARING_MS; this.heard.length < count && Date.now() < end; ) {
      await new Promise(resolve => setTimeout(resolve, 10));
    }
  }
}

// What steps name, where both SDKs have it under the same names.
export class Player {
  constructor(client, stage, era) {
    Object.assign(this, { client, stage, era, state: '' });
  }

  list({ kind }) {
    const lists = {
      tools: 'listTools', prompts: 'listPrompts', resources: 'listResources', templates: 'listResourceTemplates'
    };
    return this.client[lists[kind]]();
  }

  async call({ tool, arguments: given = {}, log_level: level }, options = {}) {
    const params = { name: tool, arguments: given };
    if (level && this.era === 'stateless') params._meta = { 'io.modelcontextprotocol/logLevel': level };
    else if (level) await this.client.setLoggingLevel(level);
    return this.send(params, options);
  }

  async together({ times, ...given }) {
    return { results: await Promise.all(Array.from({ length: times }, () => this.call(given))) };
  }

  ping() {
    return this.client.ping();
  }

  async cancel({ tool }) {
    const controller = new AbortController();
    const running = this.call({ tool }, { signal: controller.signal }).catch(() => {});
    await this.stage.wait(1);
    controller.abort('enough');
    await running;
    return {};
  }

  async round({ tool, responses, state }) {
    const params = { name: tool, arguments: {} };
    if (responses != null) params.inputResponses = responses;
    if (state) params.requestState = state === 'last' ? this.state : this.state.slice(0, -9) + 'tampered=';
    const result = await this.sendRound(params);
    this.state = result.requestState ?? '';
    return result;
  }

  watch({ uri }) {
    return this.client.subscribeResource({ uri });
  }

  unwatch({ uri }) {
    return this.client.unsubscribeResource({ uri });
  }

  prompt({ name, arguments: given = {} }) {
    return this.client.getPrompt({ name, arguments: given });
  }

  read({ uri }) {
    return this.client.readResource({ uri });
  }

  complete({ ref, argument }) {
    return this.client.complete({ ref, argument });
  }

  progress() {
    return ({ progress, total, message }) =>
      this.stage.hear({ method: 'notifications/progress', params: { progress, total, message } });
  }
}

// What a client hears of beside logs and progress.
export const CHANGES = [
  'notifications/tools/list_changed',
  'notifications/prompts/list_changed',
  'notifications/resources/updated'
];

async function play(connect, script) {
  const stage = new Stage();
  stage.begin({});
  const player = await connect(script, stage);
  const observed = {};
  for (const step of script.steps) {
    stage.begin(step);
    const seen = (observed[step.name] = {});
    try {
      seen.result = await player[step.do](step.with ?? {});
    } catch (error) {
      seen.error = { code: error.code, message: String(error.message), data: error.data };
    }
    await stage.wait(step.hears ?? 0);
    Object.assign(seen, { asked: stage.asked, heard: stage.heard });
  }
  await player.client.close();
  return observed;
}

export async function main(connect) {
  const observed = {};
  for (const [name, script] of Object.entries(JSON.parse(readFileSync(0, 'utf8')))) {
    try {
      observed[name] = await play(connect, script);
    } catch (error) {
      throw new Error(`in the script ${name}`, { cause: error });
    }
  }
  process.stdout.write(JSON.stringify(observed));
}
