/** One A2A method call, as its operation receives it. */
import type { AccountStore } from '../store/account.ts'
import type { Cards } from './cards/cards.ts'
import type { Codec } from './codec.ts'

/** A checked JSON-RPC request. `params` is not read yet. */
export interface MethodCall {
  account: AccountStore
  codec: Codec
  method: string
  params: unknown
  /** The `Idempotency-Key` header. */
  idempotencyKey: string | undefined
  /** Of this grid. */
  cards: Cards
}
