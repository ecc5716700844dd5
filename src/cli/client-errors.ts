/** The errors of the programs of clients, with the codes that scripts read. */
import { AmbiguousConnectionError, ConnectionsFileError } from '../clients/connections.ts'
import { FileRefusedError } from '../clients/files/written-file.ts'
import { GridCallError } from '../clients/grid-client.ts'
import { ProgramMissingError } from '../clients/installed-program.ts'
import { LoginError } from '../clients/login.ts'
import { CommandError } from './command.ts'

const codes: readonly [new (...args: never[]) => Error, string][] = [
  [FileRefusedError, 'file_refused'],
  [LoginError, 'not_signed_in'],
  [ConnectionsFileError, 'connections_unreadable'],
  [AmbiguousConnectionError, 'ambiguous_connection'],
  [ProgramMissingError, 'program_missing'],
]

/** Resolves to what `act` does. Its errors become those of a command. */
export async function withErrorCodes<T>(act: () => Promise<T>): Promise<T> {
  try {
    return await act()
  } catch (error) {
    if (error instanceof GridCallError) throw new CommandError(error.code, error.message)
    const code = codes.find(([kind]) => error instanceof kind)?.[1]
    throw code === undefined ? error : new CommandError(code, (error as Error).message)
  }
}
