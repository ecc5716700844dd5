/** `agent-grid disconnect`. See docs/clients.md. */
import process from 'node:process'
import { applyPlan, connectionAt, placeOf, planDisconnect, programOf } from '../clients/connect.ts'
import { removeConnection } from '../clients/connections.ts'
import { differenceOf } from '../clients/difference.ts'
import type { ClientName } from '../clients/programs/names.ts'
import { confirm } from './ask.ts'
import type { CommandArguments } from './command.ts'
import { exitCodeOf, revoke } from './connect-client.ts'

/** Run the command. Resolves to its exit code. */
export async function disconnectClient(json: boolean, args: CommandArguments): Promise<number> {
  const { title, name } = programOf(args.client as ClientName)
  const connection = connectionAt(placeOf(name, args.scope === 'project' ? process.cwd() : undefined))
  const say = (text: string) => json ? console.error(text) : console.log(text)
  if (!connection) {
    say(`${title} is not connected.`)
    if (json) console.log(JSON.stringify({ client: name, changed: [], steps: [] }))
    return 0
  }
  const plan = planDisconnect(connection)
  const { url, key, alias, isOwnKey, keyName } = connection
  const changed = plan.changes.map(({ path }) => path)
  const steps = plan.left.map((left) => `Remove by hand what was changed since it was written: ${left}`)
  if (plan.changes.length > 0) say(differenceOf(plan.changes, [key]))
  if (args['dry-run'] === undefined) {
    await confirm(`Remove this, so that ${title} is no longer ${alias}?`, args.yes !== undefined)
    applyPlan(plan)
    await removeConnection(connection)
    if (isOwnKey && !await revoke(url, key)) {
      steps.push(`The grid could not be reached: revoke the key "${keyName}" on the page of ${alias} at ${url}.`)
    }
    say(`${title} is no longer connected as ${alias}.`)
  }
  if (json) console.log(JSON.stringify({ client: name, agent: alias, changed, steps }))
  else for (const step of steps) console.log(`Next: ${step}`)
  return exitCodeOf([{ steps }])
}
