/** Where Chromium is. */
export const CHROMIUM = process.env.CHROMIUM_PATH ?? "/usr/bin/chromium";

/** A renderer for the next tab, and pages below the address bar: they triple what a tab costs. */
const COSTLY = ["SpareRendererForSitePerProcess", "WebUIOmniboxPopup", "WebUIOmniboxAimPopup"];

/** What Playwright turns off, too: of two lists of features Chromium takes the last. */
const BY_PLAYWRIGHT = [
  ...["HttpsUpgrades", "HttpsFirstBalancedModeAutoEnable", "PaintHolding"],
  ...["AvoidUnnecessaryBeforeUnloadCheckSync", "AvoidCorsURLLoaderRestartOnRedirect"],
  ...["OptimizationHints", "NetworkTimeServiceQuerying", "AimEnabled", "PreconnectToSearch"],
];

export const CHROMIUM_ARGS = [
  ...["--no-sandbox", "--disable-quic", "--disable-background-networking"],
  `--disable-features=${[...COSTLY, ...BY_PLAYWRIGHT].join()}`,
];
