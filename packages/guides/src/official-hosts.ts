/**
 * The hosts that a guide may cite or link to: federal sites only, no copies of official text. `isOfficial` compares hosts
 * exactly, so look-alikes (`myuscis.com`, `www.uscis.gov.example.com`) do not match.
 */
const OFFICIAL_HOSTS: ReadonlySet<string> = new Set([
  'acis.eoir.justice.gov',
  'ceac.state.gov',
  'egov.uscis.gov',
  'first.uscis.gov',
  'flag.dol.gov',
  'i94.cbp.dhs.gov',
  'locator.ice.gov',
  'my.uscis.gov',
  'reportfraud.ftc.gov',
  'respondentaccess.eoir.justice.gov',
  'studyinthestates.dhs.gov',
  'travel.state.gov',
  'uscode.house.gov',
  'www.dhs.gov',
  'www.dol.gov',
  'www.e-verify.gov',
  'www.ecfr.gov',
  'www.govinfo.gov',
  'www.ice.gov',
  'www.justice.gov',
  'www.samhsa.gov',
  'www.usa.gov',
  'www.uscis.gov',
])

/** Returns whether a text is an https URL on an official host, without a user name, password or other port. */
export function isOfficial(text: string): boolean {
  const url = URL.parse(text)
  return (
    url?.protocol === 'https:' && url.username === '' && url.password === '' && OFFICIAL_HOSTS.has(url.host)
  )
}
