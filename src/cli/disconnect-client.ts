/** `agent-grid disconnect`, and the code that it shares with `connect`. See docs/clients.md. */
import process from 'node:process'
import { connectionAt, placeOf, planDisconnect } from '../clients/connect.ts'
import { readConnections, removeConnection } from '../clients/connections.ts'
import { applyChanges } from '../clients/files/change.ts'
import { differenceOf } from '../clients/files/difference.ts'
import { GridCallError } from '../clients/grid-call.ts'
import { GridClient } from '../clients/grid-client.ts'
import { removeInstallation } from '../clients/installed-program.ts'
import { type ClientName, programs } from '../clients/programs.ts'
import { confirm } from './ask.ts'
import { attentionExitCode, type CommandArguments } from './command.ts'
import { print, printError } from './output.ts'

/** Runs `disconnect`. Resolves to its exit code. */
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
  const steps = left.map((place) => `Remove by hand, because it was changed since it was written: ${place}`)
  if (changes.length > 0) say(differenceOf(changes, [key]))
  if (args['dry-run'] === undefined) {
    await confirm(`Remove this to disconnect ${title} from ${alias}?`, args.yes !== undefined)
    applyChanges(changes)
    await removeConnection(connection)
    if (isOwnKey && !await revoke(url, key)) {
      steps.push(`The grid could not be reached. Revoke the key "${keyName}" on the page of ${alias} at ${url}.`)
    }
    say(`${title} is no longer connected as ${alias}.`)
    if (readConnections().length === 0) removeInstallation()
  }
  return end(json, { client, agent: alias, changed: changes.map(({ path }) => path), steps }, steps)
}

/** Returns a function for notices. With `--json` it prints nothing, because standard output must be one object. */
export function sayer(json: boolean): (text: string) => void {
  return json ? printError : print
}

/** Prints the result, and the remaining steps for the person. Returns the exit code. */
export function end(json: boolean, result: Record<string, unknown>, steps: readonly string[]): number {
  if (json) print(JSON.stringify(result))
  else for (const step of steps) print(`Next: ${step}`)
  return steps.length > 0 ? attentionExitCode : 0
}

export function folderOf({ scope }: CommandArguments): string | undefined {
  return scope === 'project' ? process.cwd() : undefined
}

/** Returns whether the key has stopped working. */
export async function revoke(url: string, key: string): Promise<boolean> {
  try {
    await new GridClient({ url, key, timeoutMs: 10_000 }).revokeKey()
    return true
  } catch (error) {
    return error instanceof GridCallError && error.status === 401
  }
}
