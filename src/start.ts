/**
 * The entry point of the npm package and of the single binary: it loads the server only for a command that needs it, so
 * that the others start in a tenth of a second.
 */
import process from 'node:process'
import { clientWords } from './cli/client-words.ts'

void (clientWords.includes(process.argv[2]) ? import('./client.ts') : import('./main.ts'))
