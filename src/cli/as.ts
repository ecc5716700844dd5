/** Runs a command as a separate agent. See docs/clients.md, "Many sessions in one folder". */
import { basename, join } from 'node:path'
import process from 'node:process'
import { bareUrl, nearestConnection, withAt } from '../clients/connections.ts'
import { type AdminAccess, agentKey, isServed, readLocalGrid } from '../clients/local-grid.ts'
import { machineName } from '../clients/login.ts'
import { clientNames, programs } from '../clients/programs.ts'
import { type GridAgent, stateFolder } from '../clients/state/paths.ts'
import { keepSessionKey, leftSessionKeys } from '../clients/state/session-keys.ts'
import { writeJson } from '../clients/state/sessions.ts'
import { type CommandArguments, CommandError, type ProcessCommand, usageError } from './command.ts'
import { revoke } from './disconnect-client.ts'
import { personNeeded } from './grid-access.ts'
import { printError } from './output.ts'
import { runCommand } from './run-command.ts'

/** Exits with the command's exit code. */
export const as: ProcessCommand = {
  name: 'as',
  summary: 'Run a coding client, or any command, as its own agent. A new agent is created if needed.',
  operands: ['agent'],
  options: {
    agent: { placeholder: '@AGENT', description: 'the agent of the session', required: true },
    url: {
      placeholder: 'URL',
      description: 'URL of the grid; default: the grid of "agent-grid up"',
      env: 'AGENT_GRID_URL',
    },
    'admin-key': {
      placeholder: 'KEY',
      description: 'an admin key of another grid',
      env: 'AGENT_GRID_ADMIN_KEY',
      file: 'admin-key-file',
    },
  },
  words: { placeholder: 'COMMAND', description: 'such as claude, codex or opencode, with its options' },
  async start(_json, args, words) {
    if (words.length === 0) throw usageError('Name the command behind --, such as: agent-grid as @worker-1 -- claude')
    const access = adminAccess(args)
    await revokeLeft({ url: access.url, alias: withAt(args.agent!) })
    const { key, alias, isNew } = await agentKey(access, args.agent!, `session on ${machineName()}`)
    const forget = keepSessionKey({ url: access.url, alias }, key)
    try {
      if (isNew) printError(`${alias} is new on ${access.url}.`)
      const { AGENT_GRID_ADMIN_KEY: _, ...others } = process.env
      const session = sessionOf({ url: access.url, alias }, words)
      return await runCommand(session.words, {
        ...others,
        ...session.env,
        ...{ AGENT_GRID_URL: access.url, AGENT_GRID_KEY: key, AGENT_GRID_ALIAS: alias },
      })
    } finally {
      if (await revoke(access.url, key)) forget()
      else {printError(
          `The grid could not be reached, so this session's key of ${alias} works until the next session as ${alias}.`,
        )}
    }
  },
}

/** Revokes the keys of killed sessions, because an agent can have at most 50 keys. */
async function revokeLeft(agent: GridAgent): Promise<void> {
  for (const { key, forget } of leftSessionKeys(agent)) {
    if (await revoke(agent.url, key)) forget()
  }
}

function adminAccess({ url: given, 'admin-key': key }: CommandArguments): AdminAccess {
  const local = readLocalGrid()
  const url = given === undefined ? undefined : bareUrl(given)
  if (local && key === undefined && (url === undefined || url === local.url)) {
    if (isServed(local)) return local
    throw personNeeded('not_running', 'The grid of this machine is not running. Start it with "agent-grid up".')
  }
  const known = url ?? nearestConnection({})?.url
  if (key !== undefined && known !== undefined) return { url: known, adminKey: key.trim() }
  const message = known === undefined
    ? 'This machine has no grid. Start one with "agent-grid up", or give --url and AGENT_GRID_ADMIN_KEY.'
    : `To create agents at ${known}, set AGENT_GRID_ADMIN_KEY. An owner or admin creates that key in the account settings.`
  throw new CommandError('admin_key_needed', message)
}

/** The arguments and variables of a session. A client reads its key from the environment. */
function sessionOf(
  agent: GridAgent,
  [program, ...words]: readonly string[],
): { words: string[]; env?: Record<string, string> } {
  const command = basename(program).replace(/\.(?:exe|cmd)$/i, '')
  const name = clientNames.find((name) => programs[name].commands.includes(command))
  if (name === undefined) return { words: [program, ...words] }
  const session = programs[name].session?.(`${agent.url}/mcp/v1/grid`, process.env)
  if (!session) {
    throw usageError(
      `${programs[name].title} cannot use an agent for a single session. Connect it with "agent-grid connect".`,
    )
  }
  if (nearestConnection({ client: name }) === undefined) {
    printError(`${programs[name].title} is not connected here, so nothing wakes it. "agent-grid up" connects it.`)
  }
  const { words: more = [], env, settings } = session
  if (!settings) return { words: [program, ...more, ...words], env }
  const path = join(stateFolder(agent), `${name}.json`)
  writeJson(path, settings.value)
  return { words: [program, ...words], env: { [settings.variable]: path } }
}
