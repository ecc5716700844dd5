/** Setup of each test file, also when several run in one process. */
import { afterAll } from 'vitest'
import { endStarted } from './process.ts'

afterAll(endStarted)
