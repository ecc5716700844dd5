import { v7 } from 'uuid'

/** A new UUIDv7. Ids name things and sort roughly by creation; they never order messages (`seq` does). */
export function newId(): string {
  return v7()
}
