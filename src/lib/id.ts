import { v7 } from 'uuid'

/** A new UUIDv7. Ids sort roughly by creation. They do not determine the order of messages; `seq` does. */
export function newId(): string {
  return v7()
}
