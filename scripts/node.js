// @ts-check
/** Runs a program of ours on Node, built into one file: `node scripts/node.js src/main.ts serve`. */
import process from 'node:process'
import { pathToFileURL } from 'node:url'
import { build } from './build.js'

const [node, , program, ...words] = process.argv
if (!program) throw new Error('Say which program: node scripts/node.js PROGRAM ARGUMENTS')
const file = await build(program)
// As if Node had been given the file itself.
process.argv = [node, file, ...words]
await import(pathToFileURL(file).href)
