/**
 * A remote agent refused a request, so repeating it is of no use. The message is for the sender. `said` are words of the
 * remote agent, which must not look like words of the grid.
 */
export class RemoteRefusal extends Error {
  readonly said: string

  constructor(message: string, said = '') {
    super(message)
    this.said = said
  }
}
