/** Real clients as agents' runners, with a scripted model on this machine. */
import { existsSync, mkdirSync, readdirSync, readlinkSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { GridClient } from '../../src/clients/grid-client.ts'
import type { LiveGrid } from '../../test/support/server.ts'
import { waitFor } from '../../test/support/wait-for.ts'
import { type FakeModel, startFakeModel } from '../clients/fake-model.ts'
import { answersTo, type RunnerProcess, startRunner } from './runner-process.ts'

interface RealClient {
  /** The command's name, which is also the runner's option. */
  name: 'claude' | 'codex' | 'opencode'
  /** Finds the command in a folder of packages. */
  binary(modules: string): string | undefined
  /** The paths of the client's sessions in its home folder. */
  sessions: string[]
  /** Configures the model with arguments, variables or files. */
  model(url: string, home: string): { words?: string[]; env?: Record<string, string> }
}

/** Finds a program in the package for this platform. */
const within = (modules: string, beginning: string, program: string) =>
  readdirSync(modules).filter((name) => name.startsWith(beginning)).map((name) => join(modules, name, program))
    .find(existsSync)

const clients: RealClient[] = [
  {
    name: 'claude',
    // Newer versions link the program in an install script, which does not run here.
    binary: (modules) => within(join(modules, '@anthropic-ai'), 'claude-code-', 'claude'),
    sessions: ['.claude/projects'],
    model: (url) => ({
      env: { ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: 'none', CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1' },
    }),
  },
  {
    name: 'codex',
    binary: (modules) => join(modules, '.bin/codex'),
    sessions: ['.codex/sessions'],
    model: (url) => {
      const provider = { name: 'fake', base_url: `${url}/v1`, wire_api: 'responses', supports_websockets: false }
      const settings = Object.entries(provider).map(([name, value]) => [`model_providers.fake.${name}`, value] as const)
      const all = [['model', 'model'], ['model_provider', 'fake'], ...settings] as const
      return { words: all.flatMap(([name, value]) => ['-c', `${name}=${JSON.stringify(value)}`]) }
    },
  },
  {
    name: 'opencode',
    binary: (modules) => within(modules, 'opencode-', 'bin/opencode'),
    sessions: ['.local/share/opencode'],
    model: (url, home) => {
      const options = { baseURL: `${url}/v1`, apiKey: 'none' }
      const provider = { fake: { npm: '@ai-sdk/anthropic', options, models: { model: { tool_call: true } } } }
      writeFileSync(join(home, 'opencode.json'), JSON.stringify({ autoupdate: false, provider }))
      return { words: ['--model', 'fake/model'] }
    },
  },
]

/** Whether a text contains the runner's notice that no person attends the session. */
const isPrompt = (text: string) => text.includes('No person attends this session')

/** Tries all clients. Returns the faults. */
export async function tryClients(grid: LiveGrid, folder: string, packages: string): Promise<string[]> {
  const faults: string[] = []
  const rows = []
  for (const client of clients) {
    for (
      const name of readdirSync(packages).filter((name) => name === client.name || name.startsWith(`${client.name}-`))
    ) {
      const modules = join(packages, name, 'node_modules')
      const binary = existsSync(modules) ? client.binary(modules) : undefined
      if (binary === undefined || !existsSync(binary)) continue
      const row: Record<string, string> = { client: name }
      rows.push(row)
      await tryClient(grid, join(folder, name), client, binary, row).catch((error) =>
        faults.push(`${name}: ${error.message}`)
      )
    }
  }
  console.table(rows)
  return faults
}

async function tryClient(
  grid: LiveGrid,
  home: string,
  client: RealClient,
  binary: string,
  row: Record<string, string>,
): Promise<void> {
  mkdirSync(join(home, 'bin'), { recursive: true })
  symlinkSync(binary, join(home, 'bin', client.name))
  const alias = `real-${row.client.replaceAll('.', '-')}`
  const [asker, worker] = [await grid.acme.agent(`${alias}-asker`), await grid.acme.agent(alias)]
  const asking = new GridClient({ url: grid.url, key: asker.key })
  const script = { prompts: [] as string[], isHeld: false }
  const model = await startScript(script)
  const { words = [], env = {} } = client.model(model.url, home)
  let runner: RunnerProcess | undefined
  const start = () =>
    runner = startRunner({
      ...{ url: grid.url, key: worker.key, home, env, path: [join(home, 'bin')] },
      words: [`--${client.name}`, '--folder', home, '--lease', '30s', '--max-turns-per-hour', '100', '--', ...words],
    })
  let sent = 0
  const ask = (text: string) => asking.send({ to: `@${alias}`, message: text }, `${alias}-${sent++}`)
  const expectAnswer = async (id: string, wanted: string) => {
    const [answer] = await answersTo(asking, [id])
    if (answer !== wanted) throw new Error(`The answer is "${answer}", not "${wanted}". ${runner!.output()}`)
  }
  try {
    start()
    const askedAt = performance.now()
    await expectAnswer((await ask('one')).message_id, 'turn 1 about one')
    row['asked, run, answered'] = `${((performance.now() - askedAt) / 1_000).toFixed(1)} s`
    await expectAnswer((await ask('two')).message_id, 'turn 2 about two')
    row['the session is kept'] = 'yes'

    script.isHeld = true
    const id = (await ask('three')).message_id
    await waitFor('the model to be asked', () => script.prompts.some((text) => text.includes('"three"')))
    await runner!.kill('SIGKILL')
    await waitFor('the end of its child', () => processesIn(home) === 0)
    row['the child ends with a killed runner'] = 'yes'
    script.isHeld = false
    start()
    const [answer] = await answersTo(asking, [id])
    if (!/^turn \d+ about three$/.test(answer)) throw new Error(`The answer is "${answer}". ${runner!.output()}`)
    if (!script.prompts.at(-1)!.includes('"redelivered":true')) {
      throw new Error('The model was not told of the first run.')
    }
    row['answered once, told of the first run'] = 'yes'

    await runner!.kill('SIGTERM')
    for (const path of client.sessions) rmSync(join(home, path), { recursive: true, force: true })
    start()
    await expectAnswer((await ask('four')).message_id, 'turn 1 about four')
    if (!script.prompts.at(-1)!.includes('could not be resumed')) {
      throw new Error('The model was not told of a new session.')
    }
    row['a lost session begins anew'] = 'yes'
    const code = await runner!.kill('SIGTERM')
    row['SIGTERM'] = `exit code ${code}`
  } finally {
    await runner?.kill('SIGKILL')
    await model.close()
  }
}

/** Starts a model that reports the number of prompts in the conversation, and the topic of the last one. */
function startScript(script: { prompts: string[]; isHeld: boolean }): Promise<FakeModel> {
  return startFakeModel(() => undefined, async (texts) => {
    const prompts = texts.filter(isPrompt)
    if (prompts.length === 0) return 'A title'
    script.prompts.push(prompts.at(-1)!)
    if (script.isHeld) await waitFor('the go-ahead', () => !script.isHeld)
    const about = [...prompts.at(-1)!.matchAll(/"message":"(\w+)"/g)].at(-1)?.[1]
    return `turn ${prompts.length} about ${about}`
  })
}

/** Counts the processes that run in a folder. */
function processesIn(folder: string): number {
  const folders = readdirSync('/proc').filter((name) => /^\d+$/.test(name)).map((pid) => {
    try {
      return readlinkSync(`/proc/${pid}/cwd`)
    } catch {
      // The process has ended or belongs to another user.
      return undefined
    }
  })
  return folders.filter((other) => other === folder).length
}
