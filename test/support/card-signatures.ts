/** Verifies signed agent cards, as the official library does. */
import { AgentCard, verifyAgentCardSignature } from '@a2a-js/sdk'
import type { JWK } from 'jose'

/**
 * Verify a card as it was served, and as the library reads it: a client has one or the other. `keyOf` finds the key that a
 * signature names by its `kid` and the address of its key set. Fails if no signature fits.
 */
export async function verifyCard(
  card: object,
  keyOf: (kid: string, jku?: string) => JWK | Promise<JWK>,
): Promise<void> {
  const verify = verifyAgentCardSignature(async (kid, jku) => await keyOf(kid, jku))
  // The library reports each signature that does not fit, and a card has some for others.
  const { debug } = console
  console.debug = () => {}
  try {
    await verify(card as AgentCard)
    await verify(AgentCard.fromJSON(card))
  } finally {
    console.debug = debug
  }
}

/** The key with an id in a key set, as it was served. */
export function keyIn({ keys }: { keys: JWK[] }, kid: string): JWK {
  return keys.find((key) => key.kid === kid)!
}
