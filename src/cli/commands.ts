import { backup } from './backup.ts'
import type { Command } from './command.ts'
import { copy } from './copy.ts'
import { demo } from './demo.ts'
import { health } from './health.ts'
import { restore } from './restore.ts'
import { serve } from './serve.ts'
import { storeCommands } from './store-commands.ts'

/** All commands, in the order of the usage text. */
export const commands: readonly Command[] = [serve, demo, ...storeCommands, backup, restore, copy, health]
