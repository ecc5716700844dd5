/** Finds reservations by others for the files that an agent is about to change. */
import { overlaps } from '../lib/name-patterns.ts'
import type { GridClient, Reservation } from './grid-client.ts'

/** A space's reservations, or without a space those that belong to none. */
export async function reservationsIn(grid: GridClient, space: string | undefined): Promise<Reservation[]> {
  return (await grid.reservations({ space })).filter((found) => found.space === space)
}

/** The reservations that prevented the agent from reserving a name, in addition to its own. */
export function heldByOthers(all: readonly Reservation[], agent: string, name: string): Reservation[] {
  const found = all.filter((one) => typeof one.name === 'string' && overlaps(name, one.name))
  const isShared = found.some((one) => one.agent === agent && one.shared)
  return found.filter((one) => one.agent !== agent && !(isShared && one.shared))
}
