/**
 * A remote agent's refusal of a request, which makes retries useless. The message is for the sender. `said` contains
 * the remote agent's words, which must not look like words of the grid.
 */
export class RemoteRefusal extends Error {
  readonly said: string

  constructor(message: string, said = '') {
    super(message)
    this.said = said
  }
}
