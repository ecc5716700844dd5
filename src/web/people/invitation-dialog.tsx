/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import { SecretDialog } from '../../html/secrets.tsx'

/** An invitation whose link the inviter passes on. */
export interface ShownInvitation {
  email: string
  url: string
}

/** Shows the link of an invitation to the inviter, once. See docs/security.md, "Invitations without email". */
export function InvitationDialog({ invitation: { email, url } }: { invitation: ShownInvitation }) {
  return (
    <SecretDialog title='Pass this link on' label='Invitation link' secret={url}>
      <p>
        This grid does not send email. Give the link to <strong>{email}</strong>{' '}
        yourself, in a way that nobody else can read. It works once, for 24 hours.
      </p>
      <p class='soft small'>
        Whoever opens it can join with this address. It does not prove the address, so claiming agents and creating
        accounts need a proof first.
      </p>
    </SecretDialog>
  )
}
