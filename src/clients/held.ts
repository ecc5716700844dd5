/** Finds other agents' reservations of files that an agent is about to change. */
import { overlaps } from '../lib/name-patterns.ts'
import type { GridClient, Reservation } from './grid-client.ts'

/** A space's reservations; without a space, reservations outside of any space. */
export async function reservationsIn(grid: GridClient, space: string | undefined): Promise<Reservation[]> {
  return (await grid.reservations({ space })).filter((found) => found.space === space)
}

/** Other agents' reservations that conflict with a name. Two shared reservations do not conflict. */
export function heldByOthers(all: readonly Reservation[], agent: string, name: string): Reservation[] {
  const found = all.filter((one) => typeof one.name === 'string' && overlaps(name, one.name))
  const isShared = found.some((one) => one.agent === agent && one.shared)
  return found.filter((one) => one.agent !== agent && !(isShared && one.shared))
}
