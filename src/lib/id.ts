import { v7, validate, version } from 'uuid'

/** A new UUIDv7. Ids sort roughly by creation. They do not determine the order of messages; `seq` does. */
export function newId(): string {
  return v7()
}

/** Whether a text has the form of an id, in either case. */
export function isId(text: string): boolean {
  return validate(text)
}

/** Whether `newId` may have generated it. */
export function isOwnId(text: string): boolean {
  return validate(text) && version(text) === 7
}
