/** `agent-grid connect` and `disconnect`: the questions, the record, the words. See docs/clients.md. */
import process from 'node:process'
import { connectionAt, placeOf, planDisconnect } from '../clients/connect.ts'
import { applyChanges } from '../clients/files/change.ts'
import { bareUrl, readConnections, removeConnection, type Wake, withAt } from '../clients/connections.ts'
import { differenceOf } from '../clients/difference.ts'
import { findGrid } from '../clients/login.ts'
import { isInstalled } from '../clients/find-program.ts'
import { type ClientName, clientNames, programs } from '../clients/programs.ts'
import { ask, confirm, isAttended } from './ask.ts'
import { attentionExitCode, type CommandArguments, usageError } from './command.ts'
import { connectClient, type ConnectResult, revoke } from './connect-client.ts'

/** Run `connect`. Resolves to its exit code. */
export async function connectClients(json: boolean, args: CommandArguments): Promise<number> {
  const isDryRun = args['dry-run'] !== undefined
  const clients = args.client === undefined ? await chooseClients(args.yes !== undefined) : [args.client as ClientName]
  const url = await findGrid(args.url === undefined ? onlyKnownGrid() : checkUrl(args.url))
  const say = sayer(json)
  if (/^http:/.test(url) && !isLoopback(url)) say(`${url} is not encrypted: others on the way can read the key.`)
  const results: ConnectResult[] = []
  for (const client of clients) {
    results.push(
      await connectClient(client, {
        url,
        alias: args.as && withAt(args.as),
        key: args.key?.trim(),
        folder: folderOf(args),
        wake: (args.wake ?? 'auto') as Wake,
        isSure: args.yes !== undefined,
        isDryRun,
        say,
      }),
    )
  }
  return end(json, { connections: results, isDryRun }, results.flatMap(({ steps }) => steps))
}

/** Run `disconnect`. Resolves to its exit code. */
export async function disconnectClient(json: boolean, args: CommandArguments): Promise<number> {
  const client = args.client as ClientName
  const { title } = programs[client]
  const connection = connectionAt(placeOf(client, folderOf(args)))
  const say = sayer(json)
  if (!connection) {
    say(`${title} is not connected.`)
    return end(json, { client, changed: [], steps: [] }, [])
  }
  const { changes, left } = planDisconnect(connection)
  const { url, key, alias, isOwnKey, keyName } = connection
  const steps = left.map((place) => `Remove by hand what was changed since it was written: ${place}`)
  if (changes.length > 0) say(differenceOf(changes, [key]))
  if (args['dry-run'] === undefined) {
    await confirm(`Remove this, so that ${title} is no longer ${alias}?`, args.yes !== undefined)
    applyChanges(changes)
    await removeConnection(connection)
    if (isOwnKey && !await revoke(url, key)) {
      steps.push(`The grid could not be reached: revoke the key "${keyName}" on the page of ${alias} at ${url}.`)
    }
    say(`${title} is no longer connected as ${alias}.`)
  }
  return end(json, { client, agent: alias, changed: changes.map(({ path }) => path), steps }, steps)
}

/** With `--json`, standard output has one object only. */
function sayer(json: boolean): (text: string) => void {
  return (text) => json ? console.error(text) : console.log(text)
}

/** Print the result, and what is left for a person. Returns the exit code. */
function end(json: boolean, result: Record<string, unknown>, steps: readonly string[]): number {
  if (json) console.log(JSON.stringify(result))
  else for (const step of steps) console.log(`Next: ${step}`)
  return steps.length > 0 ? attentionExitCode : 0
}

function folderOf({ scope }: CommandArguments): string | undefined {
  return scope === 'project' ? process.cwd() : undefined
}

/** Ask which of the clients of this machine to connect. */
async function chooseClients(takesAll: boolean): Promise<ClientName[]> {
  const found = clientNames.filter(isInstalled)
  if (found.length === 0) throw usageError(`No client was found here. Name one: ${clientNames.join(', ')}.`)
  if (!isAttended() || takesAll) {
    throw usageError(`Name the client to connect. Found on this machine: ${found.join(', ')}.`)
  }
  const titles = found.map((name) => `  ${name.padEnd(10)}${programs[name].title}`).join('\n')
  const answer = await ask(`Found on this machine:\n${titles}\nConnect which? (names, or all) `)
  const chosen = answer === 'all' ? found : answer.split(/[\s,]+/).filter(Boolean)
  const wrong = chosen.find((name) => !clientNames.includes(name as ClientName))
  if (wrong !== undefined) throw usageError(`There is no client "${wrong}".`)
  if (chosen.length === 0) throw usageError('No client was chosen.')
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
