/**
 * The hosts that a guide may cite or link: only federal sites, not copies of official text elsewhere. `isOfficial` compares hosts
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
  'www.usa.gov',
  'www.uscis.gov',
])

/** Returns whether an address is https on an official host, without user name, password or port. */
export function isOfficial(address: string): boolean {
  const url = URL.parse(address)
  return (
    url?.protocol === 'https:' && url.username === '' && url.password === '' && OFFICIAL_HOSTS.has(url.host)
  )
}
