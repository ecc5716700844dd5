/**
 * The hook before an edit. It warns of files that another agent has reserved, but never blocks the edit. See
 * docs/clients.md.
 */
import { dirname, join, resolve } from 'node:path'
import process from 'node:process'
import { second } from '../../lib/time.ts'
import { aliasIn } from '../grid-call.ts'
import type { GridClient, Reservation } from '../grid-client.ts'
import { heldByOthers, reservationsIn } from '../held.ts'
import { programs } from '../programs.ts'
import { nameInRepository, repositoryRoot, spaceOf } from '../repository.ts'
import { withLock } from '../state/lock.ts'
import { type GridAgent, stateFolder } from '../state/paths.ts'
import { claimUnnotified, readJson, writeJson } from '../state/sessions.ts'
import { contextAnswer, type HookAnswer, silence } from './call.ts'
import type { HookCall } from './fast-hook.ts'

/** Minimum interval between requests to the grid for an agent's edits. */
const keptMs = 10 * second
const waitMs = 500

/** Warns once per session, file and agent. Omits names and notes, because other agents wrote them. */
export async function editAnswer(call: HookCall): Promise<HookAnswer> {
  const { hook: { client, event, isPlugin }, connection: agent, input, grid } = call
  if (input.file === undefined) return silence
  const path = resolve(input.cwd ?? process.cwd(), input.file)
  const folder = dirname(path)
  if (repositoryRoot(folder) === undefined) return silence
  const name = nameInRepository(path, folder)
  const held = heldByOthers(await recentReservations(agent, grid, spaceOf(folder)), agent.alias, name)
  const holders = held.flatMap(({ agent, ends_at }) => {
    const alias = aliasIn(agent)
    const endsAt = Date.parse(ends_at)
    return alias === undefined || !(endsAt > 0) ? [] : [{ message_id: `edit ${alias} ${path}`, alias, endsAt }]
  })
  const [holder] = await claimUnnotified(agent, holders.slice(0, 1), { session: input.session, isStart: true })
  if (!holder) return silence
  const fact = `${holder.alias} has reserved ${name} on the agent-grid until ${new Date(holder.endsAt).toISOString()}.`
  const [list, send] = ['list_reservations', 'send_message'].map((tool) =>
    programs[client].tool?.(tool, isPlugin) ?? tool
  )
  const advice =
    `This is advice, not a lock. ${list} shows their note. Coordinate with them by ${send}, or change other files.`
  return contextAnswer(client, event, input, `${fact} ${advice}`, fact)
}

type Kept = Record<string, { at: number; all: Reservation[] }>

/** A space's reservations, cached for a few seconds. Empty after a failed request. */
async function recentReservations(
  agent: GridAgent,
  grid: GridClient,
  space: string | undefined,
): Promise<Reservation[]> {
  const path = join(stateFolder(agent), 'reservations.json')
  const [key, now] = [space ?? '', Date.now()]
  const change = <T>(act: (kept: Kept, keep: (all: Reservation[]) => void) => T) =>
    withLock(`${path}.lock`, waitMs, () => {
      const all = Object.entries(readJson(path) as Kept ?? {})
      const kept = Object.fromEntries(all.filter(([, { at }]) => now - at < keptMs && at <= now))
      return act(kept, (all) => writeJson(path, { ...kept, [key]: { at: now, all } }))
    })
  const recent = await change((kept, keep) => {
    // Storing an empty list makes other hooks skip the request while it runs, and for a while if it fails.
    if (!kept[key]) keep([])
    return kept[key]?.all
  })
  if (recent) return recent
  const all = await reservationsIn(grid, space)
  await change((_, keep) => keep(all))
  return all
}
