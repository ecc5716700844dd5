/** Sends an email as the grid does, on the runtime that runs it. Arguments: SMTP server, email address. */
import process from 'node:process'
import { readConfig } from '../../src/config.ts'
import { claimEmail } from '../../src/grid/people/email-templates.ts'
import { createLog } from '../../src/log.ts'
import { createEmailSender } from '../../src/email.ts'

async function main(): Promise<void> {
  const [smtpUrl, to] = process.argv.slice(2)
  const config = readConfig({ SMTP_URL: smtpUrl, MAIL_FROM: 'grid@grid.example' })
  const sender = createEmailSender({ config, log: createLog('info', (line) => console.log(line)), printLink: () => {} })
  sender.send({ to, ...claimEmail(config, `${config.appUrl}/claim/token`, 'zoe') })
  sender.send({ to: `${to}, bob@evil.example`, ...claimEmail(config, `${config.appUrl}/claim/token`, 'zoe') })
  await sender.close(20_000)
}

main()
