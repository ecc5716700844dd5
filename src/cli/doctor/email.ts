import type { Config } from '../../config.ts'
import { checkEmailServer } from '../../email.ts'
import { second } from '../../lib/time.ts'
import { isPublic } from './addresses.ts'
import { broken, type Finding, ok, warning } from './finding.ts'

/** Whether the email server answers. */
export async function checkEmail(config: Config): Promise<Finding> {
  if (config.smtpUrl === undefined) {
    const found = 'No email server is set: links for people are only in the log.'
    return isPublic(config) ? warning('email', found, 'Set SMTP_URL and MAIL_FROM.') : ok('email', found)
  }
  const { host } = new URL(config.smtpUrl)
  try {
    await checkEmailServer(config.smtpUrl, 2 * second)
    return ok('email', `The email server ${host} answers.`)
  } catch (error) {
    return broken(
      'email',
      `The email server ${host} cannot be used: ${(error as Error).message}`,
      'Check that it runs, and that SMTP_URL has its address, user and password.',
    )
  }
}
