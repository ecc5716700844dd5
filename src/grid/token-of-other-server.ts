import { GridError } from '../errors.ts'

/**
 * The refusal of a new server address without its token. Otherwise an admin could read the stored token by sending it to
 * a server of their own. `field` is that of the token.
 */
export function tokenOfOtherServer(field: string): GridError {
  return new GridError('invalid_input', 'The server address has changed: enter the token for the new server.', {
    field,
  })
}
