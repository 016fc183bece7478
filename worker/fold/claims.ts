type Claim = {
  /** The identify that claims is older than what is stored: it gives way to any other claim. */
  isLate: boolean
  apply: () => void
  /** Another claim of the same submission takes its place. */
  displace?: () => void
}

/**
 * Claims of one submission, by what is claimed. They take effect at its end. Of several claims of
 * the same email, domain or name the last counts.
 */
export class Claims {
  readonly #claims = new Map<string, Claim>()

  set(claimed: string, claim: Claim): void {
    const former = this.#claims.get(claimed)
    if (former !== undefined && claim.isLate) {
      claim.displace?.()
      return
    }
    former?.displace?.()
    this.#claims.set(claimed, claim)
  }

  applyAll(): void {
    for (const { apply } of this.#claims.values()) apply()
  }
}
