/**
 * A remote agent refused a request, so retrying it is useless. The message is for the sender. `said` contains the
 * remote agent's words, which must not look like the grid's.
 */
export class RemoteRefusal extends Error {
  readonly said: string

  constructor(message: string, said = '') {
    super(message)
    this.said = said
  }
}
