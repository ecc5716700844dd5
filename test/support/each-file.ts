/** Setup for each test file, also if several files run in one process. */
import { afterAll, afterEach, beforeEach } from 'vitest'
import { closeFrom, openedSoFar } from './closing.ts'
import { endStarted } from './process.ts'

let openedBefore = 0
beforeEach(() => {
  openedBefore = openedSoFar()
})
afterEach(() => closeFrom(openedBefore))
afterAll(() => closeFrom(0))
afterAll(endStarted)
