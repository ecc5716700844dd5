import { v7, validate, version } from 'uuid'

/** Returns a new UUIDv7. Ids sort roughly by creation time. Messages are ordered by `seq`, not by id. */
export function newId(): string {
  return v7()
}

/** Whether a text has the form of an id, in upper or lower case. */
export function isId(text: string): boolean {
  return validate(text)
}

/** Whether `newId` may have generated it. */
export function isOwnId(text: string): boolean {
  return validate(text) && version(text) === 7
}
