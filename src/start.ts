/**
 * Entry point of the npm package and of the single binary. It loads the server only for commands that need it, so that
 * other commands start ten times as fast.
 */
import process from 'node:process'
import { clientWords } from './cli/client-words.ts'

void (clientWords.includes(process.argv[2]) ? import('./client.ts') : import('./main.ts'))
