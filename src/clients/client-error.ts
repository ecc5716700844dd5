/** A program of a client failed. Scripts read `code`, people read the message. */
export class ClientError extends Error {
  readonly code: string

  constructor(code: string, message: string) {
    super(message)
    this.name = new.target.name
    this.code = code
  }
}
