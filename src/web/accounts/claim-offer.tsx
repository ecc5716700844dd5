/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import type { ClaimOffer } from '../../grid/accounts/claim.ts'
import { Notice } from '../../html/components.tsx'
import { pluralize } from '../listing.tsx'

/** Tells users about agents that signed up with their email address. Renders nothing if there are none. */
export function ClaimOfferNotice({ offer }: { offer: ClaimOffer | undefined }) {
  if (!offer) return null
  return (
    <Notice>
      {pluralize(offer.agents, 'agent')} signed up for you:{' '}
      <a href={`/claims/${offer.provisionalId}`}>claim {offer.agents === 1 ? 'it' : 'them'}</a>
    </Notice>
  )
}
