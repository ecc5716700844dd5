import type { Command } from './command.ts'
import { demo } from './demo.ts'
import { doctor } from './doctor.ts'
import { health } from './health.ts'
import { migrate } from './migrate.ts'
import { serve } from './serve.ts'
import { storeCommands } from './store-commands.ts'

/** All commands, in the order of the usage text. */
export const commands: readonly Command[] = [serve, demo, ...storeCommands, migrate, doctor, health]
