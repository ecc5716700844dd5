import { backup } from './backup.ts'
import { clientCommands } from './client-commands.ts'
import type { Command } from './command.ts'
import { copy } from './copy.ts'
import { demo } from './demo.ts'
import { doctor } from './doctor.ts'
import { migrate } from './migrate.ts'
import { restore } from './restore.ts'
import { serve } from './serve.ts'
import { serviceInstall } from './service-install.ts'
import { storeCommands } from './store-commands.ts'

/** All commands, in the order of the usage text. */
export const commands: readonly Command[] = [
  serve,
  demo,
  ...storeCommands,
  migrate,
  doctor,
  backup,
  restore,
  copy,
  serviceInstall,
  ...clientCommands,
]
