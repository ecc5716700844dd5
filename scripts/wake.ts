/**
 * `npm run lab -- wake`: runs real coding clients in terminals, connected as users would connect them, with a scripted
 * model and a local grid. Prints a table of which events wake each client and how soon, and which events must not wake
 * it. See docs/client-reference.md, "Trying it".
 */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import process from 'node:process'
import { parseArgs } from 'node:util'
import { build } from './build.js'
import { compareAsks } from './wake/asks.ts'
import { wakeClients } from './wake/clients.ts'
import { converse, measure } from './wake/conversation.ts'
import { startLabGrid } from './wake/lab-grid.ts'
import type { Lab } from './wake/lab.ts'
import { rows } from './wake/rows.ts'
import { readAndAnswer, startScriptedModel } from './wake/scripted-model.ts'
import { closeTerminals, endLeftovers, install } from './wake/wake-client.ts'

const usage = `npm run lab -- wake [CLIENT ...] [--folder FOLDER] [--rows TEXT] [--messages N] [--turns N]

  CLIENT      ${Object.keys(wakeClients).join(', ')}; all of them by default
  --folder    where they are installed and kept for the next run; a temporary folder by default
  --rows      only the rows whose title has this text
  --messages  of the measurement; 100 by default, 0 for none
  --turns     of a conversation between the first two clients; 20 by default, 0 for none

It needs tmux, and Linux.`

interface Outcome {
  client: string
  row: string
  outcome: string
}

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      folder: { type: 'string' },
      rows: { type: 'string', default: '' },
      messages: { type: 'string', default: '100' },
      turns: { type: 'string', default: '20' },
      help: { type: 'boolean' },
    },
  })
  const names = positionals.length > 0 ? positionals : Object.keys(wakeClients)
  if (values.help || names.some((name) => !Object.hasOwn(wakeClients, name))) return console.log(usage)

  // The folder above the clients' home folders. Some clients refuse to work below the folder for temporary files.
  const temporary = mkdtempSync(join(process.env.HOME ?? tmpdir(), '.agent-grid-wake-'))
  const folder = values.folder === undefined ? temporary : resolve(values.folder)
  await build('src/main.ts')
  const clientProgram = await build('src/client.ts')
  const grid = await startLabGrid(temporary)
  const model = await startScriptedModel(readAndAnswer)
  const outcomes: Outcome[] = []
  try {
    const sender = grid.createAgent('sender')
    const labs = names.map((name): Lab => {
      const client = wakeClients[name]
      const program = install(client, join(folder, name))
      const home = join(temporary, name)
      mkdirSync(home)
      return { folder: home, grid, model, client, program, clientProgram, sender }
    })
    const tryRow = async ({ client }: Lab, row: string, run: () => Promise<string>) => {
      const outcome = await run().catch((error) => `FAILED: ${(error as Error).message}`)
      outcomes.push({ client: client.title, row, outcome })
      console.log(`${client.title} | ${row} | ${outcome}`)
      closeTerminals()
      endLeftovers(temporary)
      model.script = readAndAnswer
    }
    for (const lab of labs) {
      for (const { title, clients, run } of rows) {
        if (!title.includes(values.rows) || !(clients ?? [lab.client.name]).includes(lab.client.name)) continue
        await tryRow(lab, title, () => run(lab))
      }
      const messages = Number(values.messages)
      if (messages > 0) await tryRow(lab, `${messages} messages`, () => measure(lab, messages))
    }
    for (const [n, lab] of labs.entries()) {
      const other = labs[(n + 1) % labs.length]
      const title = `asks ${other.client.title}, in two calls and in one`
      if (title.includes(values.rows)) await tryRow(lab, title, () => compareAsks(lab, other))
    }
    const turns = Number(values.turns)
    if (turns > 0 && labs.length > 1) {
      await tryRow(labs[0], `${turns} turns with ${labs[1].client.title}`, () => converse(labs[0], labs[1], turns))
    }
  } finally {
    closeTerminals(true)
    await model.close()
    await grid.close()
    // Ends processes that clients left behind, because they could still write files.
    endLeftovers(temporary)
    rmSync(temporary, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 })
  }
  console.table(outcomes)
  if (outcomes.some(({ outcome }) => outcome.startsWith('FAILED'))) process.exitCode = 1
}

await main()
