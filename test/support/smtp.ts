/** A mail server that takes everything, and keeps it. */
import type { AddressInfo } from 'node:net'
import { SMTPServer } from 'smtp-server'

export interface Received {
  from: string
  /** As the envelope names them. */
  to: string[]
  /** Head and body, as they came. */
  raw: string
}

export interface MailServer {
  url: string
  received: Received[]
  close(): Promise<void>
}

/** Listen on a free port. `refuse` answers a recipient with a code instead of taking it. */
export async function mailServer(
  refuse: (attempt: number) => number | undefined = () => undefined,
): Promise<MailServer> {
  const received: Received[] = []
  let attempts = 0
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    allowInsecureAuth: true,
    onRcptTo(_address, _session, done) {
      const responseCode = refuse(++attempts)
      if (responseCode === undefined) done()
      else done(Object.assign(new Error('no'), { responseCode }))
    },
    onData(stream, session, done) {
      let raw = ''
      stream.setEncoding('utf8')
      stream.on('data', (text: string) => raw += text)
      stream.on('end', () => {
        const { mailFrom, rcptTo } = session.envelope
        received.push({ from: mailFrom ? mailFrom.address : '', to: rcptTo.map(({ address }) => address), raw })
        done()
      })
    },
  })
  server.on('error', () => {})
  await new Promise<void>((ready) => void server.listen(0, '127.0.0.1', () => ready()))
  return {
    url: `smtp://127.0.0.1:${(server.server.address() as AddressInfo).port}`,
    received,
    close: () => new Promise((closed) => server.close(() => closed())),
  }
}
