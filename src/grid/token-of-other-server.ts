import { type GridError, invalidInput } from '../errors.ts'

/** Without its token, an admin could send the stored one to a server of their own. `field` is that of the token. */
export function tokenOfOtherServer(field: string): GridError {
  return invalidInput('The server address has changed: enter the token for the new server.', field)
}
