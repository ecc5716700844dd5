import { clientNames } from '../clients/programs/names.ts'
import type { ProcessCommand } from './command.ts'

/** Takes out of a client what `connect` wrote. See docs/clients.md. */
export const disconnect: ProcessCommand = {
  name: 'disconnect',
  summary: 'Take out of a coding client what connect wrote, and revoke its key.',
  operand: 'client',
  options: {
    client: {
      placeholder: 'CLIENT',
      description: clientNames.join(', '),
      oneOf: clientNames,
      required: true,
    },
    scope: {
      placeholder: 'SCOPE',
      description: 'user (the default) or project (this folder)',
      oneOf: ['user', 'project'],
    },
    'dry-run': { placeholder: '', description: 'show what would be removed, and remove nothing', flag: true },
    yes: { placeholder: '', description: 'remove without asking', flag: true },
  },
  async start(json, args) {
    const { disconnectClient } = await import('./disconnect-client.ts')
    const { withErrorCodes } = await import('./client-errors.ts')
    return await withErrorCodes(() => disconnectClient(json, args))
  },
}
