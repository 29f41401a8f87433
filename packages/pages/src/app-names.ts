import { type AppPlace, parseAppHost } from '@plainpath/domain'

/** Formats where an app is: the host of a site, or a program on the person's device. */
export function formatPlace(place: AppPlace): string {
  if (place.kind === 'site') return place.host
  return place.kind === 'computer'
    ? 'a program on this computer'
    : `a program on this device that opens “${place.scheme}” links`
}

/** Refers to an app within a sentence. In mail, the dots of a host become `[.]`, so that mail programs do not make it a link. */
export function referToApp(appHost: string, { inMail }: { inMail: boolean }): string {
  const place = parseAppHost(appHost)
  if (place.kind === 'site') return `an app at ${inMail ? place.host.replaceAll('.', '[.]') : place.host}`
  const scheme = place.kind === 'scheme' ? ` that opens “${place.scheme}” links` : ''
  return `a program on a computer or phone${scheme}`
}
