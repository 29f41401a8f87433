import { type AppDestination, parseAppHost } from '@plainpath/domain'

/** Formats the destination of an app's access: the host of a site, or a program on the person's device. */
export function formatAppDestination(destination: AppDestination): string {
  if (destination.kind === 'site') return destination.host
  return destination.kind === 'loopback'
    ? 'a program on this computer'
    : `a program on this device that opens “${destination.scheme}” links`
}

/**
 * Refers to an app within a sentence. In mail, the dots of a host become `[.]`, so that mail programs do not make it a link.
 *
 * @param appHost the host of the app, `loopback` or a scheme, as `formatAppHost` returns it
 */
export function referToApp(appHost: string, { inMail }: { inMail: boolean }): string {
  const destination = parseAppHost(appHost)
  if (destination.kind === 'site')
    return `an app at ${inMail ? destination.host.replaceAll('.', '[.]') : destination.host}`
  const scheme = destination.kind === 'scheme' ? ` that opens “${destination.scheme}” links` : ''
  return `a program on a computer or phone${scheme}`
}
