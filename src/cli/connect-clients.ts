/** `agent-grid connect`. See docs/clients.md. */
import process from 'node:process'
import { programOf } from '../clients/connect.ts'
import { bareUrl, readConnections, type Wake, withAt } from '../clients/connections.ts'
import { findGrid } from '../clients/login.ts'
import { type ClientName, clientNames } from '../clients/programs/names.ts'
import { isInstalled } from '../clients/programs/program.ts'
import { programs } from '../clients/programs/programs.ts'
import { ask, isAttended } from './ask.ts'
import { type CommandArguments, usageError } from './command.ts'
import { connectClient, type ConnectResult, exitCodeOf } from './connect-client.ts'

/** Run the command. Resolves to its exit code. */
export async function connectClients(json: boolean, args: CommandArguments): Promise<number> {
  const isDryRun = args['dry-run'] !== undefined
  const clients = args.client === undefined ? await chooseClients(args.yes !== undefined) : [args.client as ClientName]
  const url = await findGrid(args.url === undefined ? onlyKnownGrid() : checkUrl(args.url))
  const say = (text: string) => json ? console.error(text) : console.log(text)
  if (/^http:/.test(url) && !isLoopback(url)) say(`${url} is not encrypted: others on the way can read the key.`)
  const results: ConnectResult[] = []
  for (const client of clients) {
    results.push(
      await connectClient(programOf(client), {
        url,
        alias: args.as && withAt(args.as),
        key: args.key?.trim(),
        ...(args.scope === 'project' && { folder: process.cwd() }),
        wake: (args.wake ?? 'auto') as Wake,
        isSure: args.yes !== undefined,
        isDryRun,
        say,
      }),
    )
  }
  if (json) console.log(JSON.stringify({ connections: results, isDryRun }))
  else for (const { steps } of results) for (const step of steps) console.log(`Next: ${step}`)
  return exitCodeOf(results)
}

/** Ask which of the clients of this machine to connect. */
async function chooseClients(takesAll: boolean): Promise<ClientName[]> {
  const found = programs.filter(isInstalled)
  if (found.length === 0) throw usageError(`No client was found here. Name one: ${clientNames.join(', ')}.`)
  const list = found.map(({ name }) => name)
  if (!isAttended() || takesAll) {
    throw usageError(`Name the client to connect. Found on this machine: ${list.join(', ')}.`)
  }
  const titles = found.map(({ name, title }) => `  ${name.padEnd(10)}${title}`).join('\n')
  const answer = await ask(`Found on this machine:\n${titles}\nConnect which? (names, or all) `)
  const chosen = answer === 'all' ? list : answer.split(/[\s,]+/).filter(Boolean)
  const wrong = chosen.find((name) => !clientNames.includes(name as ClientName))
  if (chosen.length === 0 || wrong !== undefined) {
    throw usageError(wrong === undefined ? 'No client was chosen.' : `There is no client "${wrong}".`)
  }
  return chosen as ClientName[]
}

function onlyKnownGrid(): string {
  const urls = [...new Set(readConnections().map(({ url }) => url))]
  if (urls.length === 1) return urls[0]
  const known = urls.length === 0 ? '' : ` Known are ${urls.join(' and ')}.`
  throw usageError(`connect needs --url, the address of the grid.${known}`)
}

function checkUrl(url: string): string {
  if (!/^https?:\/\//.test(url) || !URL.canParse(url)) {
    throw usageError(`--url must be an address such as https://grid.example.com, not "${url}".`)
  }
  return bareUrl(url).replace(/\/mcp\/v1\/grid$/, '')
}

function isLoopback(url: string): boolean {
  return /^(localhost|127\.\d+\.\d+\.\d+|\[::1\]|.*\.localhost)$/.test(new URL(url).hostname)
}
