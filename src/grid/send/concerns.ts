/** The concerns of every send, in the order of their statements. Features add their own. */
import type { Concern } from '../message/outgoing-message.ts'
import { accepts } from './accepts.ts'
import { acks } from './acks.ts'
import { answers } from './answers.ts'
import { delivers } from './delivers.ts'
import { files } from './files.ts'
import { fits } from './fits.ts'
import { inTurn } from './in-turn.ts'
import { onTrial } from './on-trial.ts'
import { once } from './once.ts'
import { paysToken } from './pays-token.ts'

export function concernsWith({ guarded, held }: Record<'guarded' | 'held', Concern>): readonly Concern[] {
  return [
    accepts,
    // After `accepts`, because `fits` checks the result of the statement of `accepts`.
    fits,
    delivers,
    inTurn,
    onTrial,
    paysToken,
    files,
    guarded,
    acks,
    answers,
    // After `answers`, because `held` changes the task that `answers` creates.
    held,
    once,
  ]
}
