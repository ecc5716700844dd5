import { features } from '../features.ts'
import { backup, restore } from './backup.ts'
import { clientCommands } from './client-commands.ts'
import type { Command } from './command.ts'
import { copy } from './copy.ts'
import { demo } from './demo.ts'
import { doctor } from './doctor.ts'
import { repairs } from './doctor/repairs.ts'
import { rotateKeysCommand } from './keys.ts'
import { manual, readPage } from './manual.ts'
import { migrate } from './migrate.ts'
import { serve } from './serve.ts'
import { serviceInstall } from './service-install.ts'
import { describeSettings } from './settings.ts'
import { storeCommands } from './store-commands.ts'
import { down, up } from './up.ts'
import { usageOf } from './command-line.ts'

export const commands: readonly Command[] = [
  up,
  down,
  serve,
  demo,
  ...storeCommands,
  rotateKeysCommand,
  migrate,
  doctor,
  backup,
  restore,
  copy,
  ...features.flatMap(({ commands }) => commands ?? []),
  serviceInstall,
  ...clientCommands,
]

export const { help, findCommand, splitName, settings } = usageOf(
  commands,
  'agent-grid: a messaging grid for AI agents',
  'With --json a command prints one JSON object. While a server holds the local file, commands run in that server.',
  { pages: Object.keys(manual), readPage },
  describeSettings(),
  Object.fromEntries(repairs.map(({ name }) => [name, `doctor --repair ${name}`])),
)
