import unittest

import durations


class ParseTest(unittest.TestCase):
    def test_one_part(self):
        self.assertEqual(durations.parse("45m"), 2700)

    def test_several_parts(self):
        self.assertEqual(durations.parse("1h30m"), 5400)

    def test_a_day_of_work_has_eight_hours(self):
        self.assertEqual(durations.parse("1d"), 28800)

    def test_a_number_without_its_unit_is_an_error(self):
        for text in ("90", "1h30"):
            with self.subTest(text=text), self.assertRaises(ValueError):
                durations.parse(text)

    def test_nothing_is_an_error(self):
        with self.assertRaises(ValueError):
            durations.parse("")


class ShowTest(unittest.TestCase):
    def test_there_and_back(self):
        for text in ("0m", "5m", "1h", "1h30m", "25h"):
            with self.subTest(text=text):
                self.assertEqual(durations.show(durations.parse(text)), text)

    def test_days_are_shown_in_hours(self):
        self.assertEqual(durations.show(durations.add(["1d", "15m"])), "8h15m")
