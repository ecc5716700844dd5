/** Verifies signed agent cards with the official library. */
import { AgentCard, verifyAgentCardSignature } from '@a2a-js/sdk'
import type { JWK } from 'jose'

/**
 * Verifies a card both as served and as the library parses it, because clients use either form. `keyOf` finds a
 * signature's key by `kid` and key set URL. Fails if no signature is valid.
 */
export async function verifyCard(
  card: object,
  keyOf: (kid: string, jku?: string) => JWK | Promise<JWK>,
): Promise<void> {
  const verify = verifyAgentCardSignature(async (kid, jku) => await keyOf(kid, jku))
  // Silences the library, which logs each invalid signature. A card has signatures for different verifiers.
  const { debug } = console
  console.debug = () => {}
  try {
    await verify(card as AgentCard)
    await verify(AgentCard.fromJSON(card))
  } finally {
    console.debug = debug
  }
}

/** Returns the key with the id `kid` from a key set, as served. */
export function keyIn({ keys }: { keys: JWK[] }, kid: string): JWK {
  return keys.find((key) => key.kid === kid)!
}
