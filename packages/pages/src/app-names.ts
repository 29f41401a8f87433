import { type AppPlace, parseAppHost } from '@plainpath/domain'

/** Names where an app is, to stand alone and large: a host, or a program on the computer. */
export function placeName(place: AppPlace): string {
  if (place.kind === 'site') return place.host
  return place.kind === 'computer'
    ? 'a program on this computer'
    : `a program on this device that opens “${place.scheme}” links`
}

/** Refers to the app of a connection within a sentence. Mail programs would turn a host into a link to the app's website. */
export function referToApp(appHost: string, { inMail }: { inMail: boolean }): string {
  const place = parseAppHost(appHost)
  if (place.kind === 'site') return `an app at ${inMail ? place.host.replaceAll('.', '[.]') : place.host}`
  const scheme = place.kind === 'scheme' ? ` that opens “${place.scheme}” links` : ''
  return `a program on a computer or phone${scheme}`
}
